/**
 * Telemetry through the API of OpenTelemetry. Needs the package `@opentelemetry/api`, and an SDK, or a runtime that is one, for
 * anything to come of it.
 *
 * @module
 */
export { instrumentAgent, type TelemetryOptions } from "./instrument_agent.ts";
export { METRIC_NAMES, SCOPE_NAME, SPAN_NAMES } from "./names.ts";

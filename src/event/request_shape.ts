/**
 * What a `request/header` must look like: the snapshot that requests are made with.
 *
 * @see session-format §3.6
 * @module
 */
import {
  isRecord,
  type JsonRecord,
  oneOfProblem,
  optionalCountProblem,
  optionalStringsProblem,
  optionalTrueProblem,
  stringsProblem,
  wrong,
} from "./checks.ts";

/** Says what is wrong with the data of a `request/header`, to be read after "found ", or null. */
export function requestHeaderProblem(data: JsonRecord): string | null {
  const { header } = data;
  if (!isRecord(header)) return wrong("data.header", header, "an object");
  if (Object.hasOwn(header, "system")) return "data.header.system, which this version keeps in a system/message";
  const { config, adapterDefaults, tools } = header;
  if (!isRecord(config)) return wrong("data.header.config", config, "an object");
  const problem = configProblem(config) ?? adapterDefaultsProblem(adapterDefaults, config) ?? toolsProblem(tools);
  if (problem !== null) return problem;
  return oneOfProblem(data, "reason", ["initial", "resume", "change", "series"]) ??
    optionalTrueProblem(data, "startsSeries");
}

function configProblem(config: JsonRecord): string | null {
  const problem = stringsProblem(config, "provider", "model") ?? optionalStringsProblem(config, "reasoningEffort") ??
    optionalCountProblem(config, "maxTokens");
  if (problem !== null) return `${problem} (in data.header.config)`;
  const { temperature, stop } = config;
  if (temperature !== undefined && !(typeof temperature === "number" && Number.isFinite(temperature))) {
    return wrong("data.header.config.temperature", temperature, "a number");
  }
  if (stop === undefined || (Array.isArray(stop) && stop.every((text) => typeof text === "string"))) return null;
  return wrong("data.header.config.stop", stop, "a list of strings");
}

/** A marker says that an adapter chose a value, so the value must be there. */
function adapterDefaultsProblem(value: unknown, config: JsonRecord): string | null {
  if (value === undefined) return null;
  const path = "data.header.adapterDefaults";
  if (!isRecord(value)) return wrong(path, value, "an object");
  const keys = Object.keys(value);
  if (keys.length === 0) return `an empty ${path}`;
  for (const key of keys) {
    if (key !== "reasoningEffort" && key !== "maxTokens") return `the unknown field "${key}" in ${path}`;
    if (value[key] !== true) return wrong(`${path}.${key}`, value[key], "true");
    if (config[key] === undefined) return `${path}.${key} without a value in the config`;
  }
  return null;
}

function toolsProblem(tools: unknown): string | null {
  if (tools === undefined) return null;
  if (!Array.isArray(tools)) return wrong("data.header.tools", tools, "a list");
  if (tools.length === 0) return "an empty data.header.tools";
  for (const tool of tools) {
    if (!isRecord(tool)) return wrong("data.header.tools[]", tool, "an object");
    const problem = stringsProblem(tool, "name", "description");
    if (problem !== null) return `${problem} (in data.header.tools)`;
    if (!isRecord(tool.parameters)) return wrong("data.header.tools[].parameters", tool.parameters, "an object");
  }
  return null;
}

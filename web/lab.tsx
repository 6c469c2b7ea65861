/**
 * The entry of the page in which a visitor steps through the crash states of a payment.
 *
 * @module
 */
import { render } from "preact";
import { Lab } from "./lab/lab.tsx";

render(<Lab />, document.getElementById("page")!);

export default { worker: { format: "es" }, logLevel: "error" };

export default {
  worker: { format: "es" },
  logLevel: "error",
  build: { target: "esnext", rollupOptions: { input: ["index.html", "embed/index.html"] } },
};

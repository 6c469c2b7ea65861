const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

// What the worker found and did, or why it could not.
globalThis.outcome = new Promise((resolve) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => resolve({ error: message });
});

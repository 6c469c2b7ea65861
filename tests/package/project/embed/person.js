// The person says yes to everything. `shown` is what the page shows once the assistant has answered to the payment.
globalThis.questions = [];
globalThis.confirm = (text) => globalThis.questions.push(text.split(" ")[0]) > 0;
globalThis.shown = new Promise((resolve) => {
  const look = () => /paid [^]*"assistant"/.test(document.body.innerText) && resolve(document.body.innerText);
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
});

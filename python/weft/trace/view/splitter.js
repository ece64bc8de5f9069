/** Lets `handle`, which lies above `panel`, change the panel's height. */
export function makeSplitter(handle, panel) {
  const set = (height) => {
    const share = Math.round(Math.min(0.85, Math.max(0.08, height / innerHeight)) * 100);
    panel.style.flexBasis = `${share}vh`;
    handle.setAttribute("aria-valuenow", String(share));
  };
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => handle.hasPointerCapture(event.pointerId) && set(innerHeight - event.clientY));
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 24, ArrowDown: -24 }[event.key];
    if (!by) return;
    set(panel.clientHeight + by);
    event.preventDefault();
  });
}

/** Tabs as the ARIA practices have them: arrows go from one to the next. */
export class Tabs {
  constructor(list) {
    this.tabs = [...list.querySelectorAll('[role="tab"]')];
    for (const [i, tab] of this.tabs.entries()) {
      tab.addEventListener("click", () => this.show(tab.id));
      tab.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        const next = this.tabs[(i + by + this.tabs.length) % this.tabs.length];
        this.show(next.id);
        next.focus();
        event.preventDefault();
      });
    }
  }

  show(id) {
    for (const tab of this.tabs) {
      const chosen = tab.id === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
  }
}

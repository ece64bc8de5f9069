/** What is looked at. Views are notified when it changes. */
export class State extends EventTarget {
  constructor(trace) {
    super();
    this.trace = trace;
    this.begin = 0;
    this.end = trace.last;
    /** Rows of tasks, or -1. */
    this.task = -1;
    this.hovered = -1;
    /** Index of the class that stands out, or -1. */
    this.marked = -1;
    /** Index of the construct whose tasks stand out, those inside of it too, or -1. Not both stand out. */
    this.construct = -1;
    /** A chosen stretch of time, [begin, end], or null. */
    this.range = null;
  }

  /** "look": which time is shown; "choose": task, range; "mark": class, construct; "hover". */
  tell(what) {
    this.dispatchEvent(new Event(what));
  }
  on(what, act) {
    this.addEventListener(what, act);
  }

  /** Shows [begin, end], as far as the trace goes and not below 10 ns. */
  look(begin, end) {
    const last = this.trace.last;
    const length = Math.min(last, Math.max(end - begin, Math.min(10, last)));
    const middle = (begin + end) / 2;
    this.begin = Math.min(Math.max(0, middle - length / 2), last - length);
    this.end = this.begin + length;
    this.tell("look");
  }

  /** Shows `factor` times as much, and keeps `at` where it is. */
  zoom(factor, at = (this.begin + this.end) / 2) {
    const length = Math.min(this.trace.last, Math.max(10, (this.end - this.begin) * factor));
    const before = ((at - this.begin) / (this.end - this.begin)) * length;
    this.look(at - before, at - before + length);
  }

  pan(by) {
    this.look(this.begin + by, this.end + by);
  }

  choose(task, range = null) {
    this.task = task;
    this.range = range;
    this.tell("choose");
  }

  hover(task) {
    if (task === this.hovered) return;
    this.hovered = task;
    this.tell("hover");
  }

  mark(index) {
    this.marked = index === this.marked ? -1 : index;
    this.construct = -1;
    this.tell("mark");
  }

  markConstruct(index) {
    this.construct = index === this.construct ? -1 : index;
    this.marked = -1;
    this.tell("mark");
  }

  /** Shows the whole of a task, with some air. */
  lookAtTask(row) {
    const { trace } = this;
    const begin = Math.max(0, trace.taskBegan[row] < 0 ? trace.taskSpawned[row] : trace.taskBegan[row]);
    const end = trace.taskEnded[row] < 0 ? trace.last : trace.taskEnded[row];
    const air = Math.max(20, (end - begin) * 0.15);
    this.look(begin - air, end + air);
  }
}

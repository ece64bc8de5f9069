/** What the time of a worker and of a calling thread is called: in legends, tables and tips alike. */
export const WORDS = {
  busy: "busy",
  search: "search",
  asleep: "asleep",
  overhead: "overhead",
  lost: "events lost",
  run: "in a run",
  outside: "outside of runs",
};

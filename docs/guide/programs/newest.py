"""Runs here.weft again under a policy of its own: one pool, the newest task first."""

import weft


class Newest(weft.Policy):
    def attach(self, machine, context):
        self.pool, self.place = [], context.workers

    def ready(self, worker, task, reason):
        self.pool.append(task)
        return self.place

    def next(self, worker, last_look):
        return self.pool.pop() if self.pool else weft.Looked(self.place)


result = weft.simulate("here.weft", machine="opteron-8380-4x4", policy=Newest)
print(f"here.weft: {result.workers} workers, {result.seconds:.6f} s, {sum(r.report.tasks for r in result.runs)} tasks")

// StarPU 1.3: a codelet for the CPU, and starpu_task_declare_deps_array; tags, and data whose accesses StarPU
// looks at itself, take longer. The thread that makes the tasks is none of the workers; tasks may run while
// others are still being made.
#include "program.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <starpu.h>

namespace {

class runtime {
public:
    struct graph {
        graph() = default;
        graph(const graph&) = delete;
        graph& operator=(const graph&) = delete;
        ~graph() {
            for (starpu_task* t : tasks) starpu_task_destroy(t);
        }

        starpu_codelet does{}; // at the address that its tasks have
        std::vector<starpu_task*> tasks;
    };

    runtime(const bench::arguments&, int workers) {
        setenv("STARPU_SILENT", "1", 0);
        // It measures the machine when it starts for the first time, and keeps that in a folder.
        setenv("STARPU_HOME", std::filesystem::temp_directory_path().c_str(), 0);
        starpu_conf options;
        starpu_conf_init(&options);
        options.ncpus = workers;
        options.ncuda = options.nopencl = 0;
        if (starpu_init(&options) != 0) throw std::runtime_error("StarPU does not start");
    }
    ~runtime() { starpu_shutdown(); }

    template <class Shape, class Tasks>
    void build_and_run(graph& g, const Shape& shape, Tasks& tasks) {
        starpu_codelet_init(&g.does);
        g.does.cpu_funcs[0] = run<Tasks>;
        running<Tasks> = &tasks;
        g.tasks.reserve(dag::size(shape));
        dag::each_task(shape, [&](dag::number at, const auto& before) {
            starpu_task* made = g.tasks.emplace_back(starpu_task_create());
            made->cl = &g.does;
            made->cl_arg = reinterpret_cast<void*>(std::uintptr_t{at});
            made->destroy = 0; // others name it when it may have run already
            std::array<starpu_task*, std::tuple_size_v<std::decay_t<decltype(before)>>> waits_for;
            unsigned count = 0;
            for (const dag::number p : before)
                if (p != at) waits_for[count++] = g.tasks[p];
            starpu_task_declare_deps_array(made, count, waits_for.data());
            submit(made);
        });
        starpu_task_wait_for_all();
    }
    void run_again(graph& g) {
        for (starpu_task* t : g.tasks) submit(t);
        starpu_task_wait_for_all();
    }

private:
    // A task carries its number; the closure is made where it runs.
    template <class Tasks>
    inline static Tasks* running = nullptr;
    template <class Tasks>
    static void run(void**, void* at) {
        running<Tasks>->body(static_cast<dag::number>(reinterpret_cast<std::uintptr_t>(at)))();
    }

    static void submit(starpu_task* t) {
        if (starpu_task_submit(t) != 0) throw std::runtime_error("StarPU has no worker for a task");
    }
};

} // namespace

int main(int argc, char** argv) { return dag::program<runtime>(argc, argv); }

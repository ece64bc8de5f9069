! What gfortran's programs call: omp_lib with texts and integers of 8 bytes, loops, tasks, workshare, reductions of arrays.
module kept
    integer :: mine = 0
    !$omp threadprivate(mine)
contains
    recursive integer function fibonacci(n) result(value)
        integer, intent(in) :: n
        integer :: left, right
        if (n < 2) then
            value = n
            return
        end if
        !$omp task shared(left) firstprivate(n)
        left = fibonacci(n - 1)
        !$omp end task
        right = fibonacci(n - 2)
        !$omp taskwait
        value = left + right
    end function fibonacci
end module kept

program library
    use omp_lib
    use kept
    implicit none
    integer, parameter :: n = 1000
    integer :: i, length, value, chunk, histogram(0:4), order(n), next
    integer(8) :: threads
    integer(omp_sched_kind) :: kind
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nested
    real(8) :: a(n), b(n), total
    character(12) :: short
    character(80) :: long

    threads = 2
    call omp_set_num_threads(threads)
    print *, omp_get_max_threads(), omp_in_parallel(), omp_get_dynamic()

    call omp_set_affinity_format('level %L of %N')
    length = omp_get_affinity_format(short)
    print *, length, '[', short, ']'
    length = omp_capture_affinity(long, '')
    print *, length, '[', long, ']'
    length = omp_capture_affinity(short, 'this does not fit: %N')
    print *, length, '[', short, ']'
    call omp_set_schedule(omp_sched_guided, 7)
    call omp_get_schedule(kind, chunk)
    print *, kind == omp_sched_guided, chunk
    print *, omp_get_team_size(huge(threads)), omp_get_ancestor_thread_num(-huge(threads))

    !$omp parallel workshare
    a = [(i, i = 1, n)]
    b = 2 * a
    !$omp end parallel workshare
    total = 0
    !$omp parallel do simd reduction(+: total) schedule(dynamic, 3)
    do i = 1, n
        total = total + a(i) * b(i)
    end do
    print *, total

    histogram = 0
    !$omp parallel do reduction(+: histogram) schedule(runtime)
    do i = 1, n
        histogram(mod(i, 5)) = histogram(mod(i, 5)) + i
    end do
    print *, histogram

    next = 0
    !$omp parallel do ordered schedule(static, 1)
    do i = n, 1, -3
        !$omp ordered
        next = next + 1
        order(next) = i
        !$omp end ordered
    end do
    print *, next, all(order(1:next) == [(i, i = n, 1, -3)])

    call omp_init_lock(lock)
    call omp_init_nest_lock(nested)
    value = 0
    !$omp parallel num_threads(3) shared(value)
    call omp_set_lock(lock)
    value = value + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nested)
    call omp_set_nest_lock(nested)
    value = value + 10
    call omp_unset_nest_lock(nested)
    call omp_unset_nest_lock(nested)
    !$omp critical
    value = value + 100
    !$omp end critical
    !$omp end parallel
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nested)
    print *, value

    !$omp parallel
    !$omp single
    value = fibonacci(15)
    !$omp end single
    !$omp end parallel
    print *, value

    mine = 5
    total = 0
    !$omp parallel copyin(mine) num_threads(2) reduction(+: total)
    mine = mine + omp_get_thread_num()
    !$omp barrier
    total = mine
    !$omp end parallel
    print *, total

    value = 0
    !$omp parallel sections reduction(+: value)
    !$omp section
    value = value + 1
    !$omp section
    value = value + 2
    !$omp section
    value = value + 4
    !$omp end parallel sections
    print *, value

    call on_device(given=.false.)
    call on_device(b, given=.true.)
    print *, b(1:3)
contains
    subroutine on_device(a, given)
        real(8), optional :: a(:)
        logical, value :: given
        !$omp target data map(a) use_device_addr(a)
        !$omp target has_device_addr(a)
        if (given) a = a + 1
        !$omp end target
        !$omp end target data
    end subroutine on_device
end program library

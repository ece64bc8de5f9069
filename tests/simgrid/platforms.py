#!/usr/bin/env python3
"""Platforms that SimGrid publishes, as tables, and as machine files.

    platforms.py                 the names
    platforms.py NAME            the machine file, for WEFT_MACHINE

Source: the folder examples/platforms of SimGrid's repository, one file a platform. Times are in nanoseconds, bandwidths
in bytes a nanosecond, speeds in operations a nanosecond. A link that carries both directions at full speed is two links
here. Left out are the links of a host to itself, since data on the host where they are needed do not move.

A machine file knows a memory node for each host, links between two nodes, and routes over several links. A link of a
platform becomes a link from an inner node to an outer one, both without cores, which all routes over that link pass in
the same direction. So a link that both directions share is one resource, as in SimGrid.
"""

import itertools
import sys
from dataclasses import dataclass

MEGA, MICRO = 1e-3, 1e3  # 10^6 a second is 10^-3 a nanosecond; a microsecond is 10^3 of them
NO_LIMIT = 1e9  # the most that a machine file may say
NO_TIME = 1e-3  # the least


@dataclass
class Link:
    bandwidth: float
    latency: float


@dataclass
class Platform:
    source: str
    speeds: dict  # by host
    links: dict  # by name
    routes: dict  # by (from, to): names of links; data are sent between these pairs only

    def latency(self, pair):
        return sum(self.links[name].latency for name in self.routes[pair])

    def bandwidth(self, pair):
        return min(self.links[name].bandwidth for name in self.routes[pair])


def both_ways(routes):
    """SimGrid's default: the way back takes the same links."""
    return {**routes, **{(b, a): way[::-1] for (a, b), way in routes.items()}}


def pairs(hosts):
    return itertools.permutations(hosts, 2)


# ---- the platforms


def small_platform():
    """Seven workstations of unequal speed on a wide-area network whose links each serve both directions."""
    speeds = {"Tremblay": 98.095, "Jupiter": 76.296, "Fafard": 76.296, "Ginette": 48.492, "Bourassa": 48.492}
    speeds |= {"Jacquelin": 137.333, "Boivin": 98.095}
    links = """
        0 41.279125 59.904      1 34.285625 514.433     2 118.6825 136.931      3 34.285625 514.433
        4 10.099625 479.78      5 27.94625 278.066      6 41.279125 59.904      7 11.618875 189.98
        8 8.158 270.544         9 7.20975 1461.517      10 34.285625 514.433    11 118.6825 136.931
        16 34.285625 514.433    17 118.6825 136.931     44 10.314625 6932.556   47 10.314625 6932.556
        54 15.376875 35083.019  56 21.41475 29589.0617  59 11.845375 370.788    78 27.94625 278.066
        79 8.42725 156.056      80 15.376875 35083.019  145 2.583375 410.463
    """.split()
    routes = """
        Tremblay Jupiter 9                   Tremblay Fafard 4,3,2,0,1,8         Tremblay Ginette 4,3,5
        Tremblay Bourassa 4,3,2,0,1,6,7      Jupiter Fafard 9,4,3,2,0,1,8        Jupiter Ginette 9,4,3,5
        Jupiter Bourassa 9,4,3,2,0,1,6,7     Jupiter Jacquelin 145               Jupiter Boivin 47
        Fafard Ginette 8,1,0,2,5             Fafard Bourassa 8,6,7               Ginette Bourassa 5,2,0,1,6,7
        Ginette Jacquelin 145                Ginette Boivin 47                   Bourassa Jacquelin 145
        Bourassa Boivin 47                   Jacquelin Tremblay 145,59,56,54,2,3 Boivin Tremblay 47,44,11,10,16,0,3
        Jacquelin Boivin 145,59,56,54,17,16,10,11,44,47
        Jacquelin Fafard 145,59,56,54,17,16,10,6,9,79,78
        Boivin Fafard 47,44,11,6,9,79,78,80
    """.split()
    return Platform(
        "small_platform.xml, small_platform.cpp",
        {host: speed * MEGA for host, speed in speeds.items()},
        {n: Link(float(b) * MEGA, float(ns) * MICRO) for n, b, ns in zip(*[iter(links)] * 3, strict=True)},
        both_ways({(a, b): way.split(",") for a, b, way in zip(*[iter(routes)] * 3, strict=True)}),
    )


def dogbone():
    """Two hosts on either side of one link, which both directions share. The file has no route within a side."""
    hosts = {"S1": "1", "S2": "4", "C1": "3", "C2": "5"}  # and the link of each
    sides = itertools.product(["S1", "S2"], ["C1", "C2"])
    return Platform(
        "dogbone.xml",
        {host: 1.0 for host in hosts},
        {str(n): Link(100 * MEGA, 10_000 * MICRO) for n in range(1, 6)},
        both_ways({(a, b): [hosts[a], "2", hosts[b]] for a, b in sides}),
    )


def star(source, hosts, speed, bandwidth, latency, inner):
    """A link up and one down for each host. `inner(a, b)` names the links in between, which the caller adds."""
    links = {f"{host}_{way}": Link(bandwidth, latency) for host in hosts for way in ("up", "down")}
    routes = {(a, b): [f"{a}_up", *inner(a, b), f"{b}_down"] for a, b in pairs(hosts)}
    return Platform(source, {host: speed for host in hosts}, links, routes)


def cluster_crossbar():
    """12 of 262,145 equal hosts: only their own links limit them."""
    hosts = [f"host-{i}" for i in range(12)]
    return star("cluster_crossbar.xml", hosts, 1.0, 125 * MEGA, 50 * MICRO, lambda a, b: [])


def cluster_backbone():
    """36 of 100 equal hosts and a backbone that both directions share: 18 transfers at full speed exhaust it."""
    hosts = [f"node-{i}" for i in range(36)]
    p = star("cluster_backbone.xml", hosts, 1.0, 125 * MEGA, 50 * MICRO, lambda a, b: ["backbone"])
    p.links["backbone"] = Link(2250 * MEGA, 500 * MICRO)
    return p


def griffon():
    """18 of 92 equal hosts, 12, 3 and 3 of three cabinets. Ten transfers at full speed exhaust a cabinet."""
    cabinets = {1: range(1, 13), 2: range(30, 33), 3: range(61, 64)}
    cabinet = {f"griffon-{i}": c for c, numbers in cabinets.items() for i in numbers}

    def inner(a, b):
        c, d = f"cabinet{cabinet[a]}", f"cabinet{cabinet[b]}"
        return [c] if c == d else [c, "backbone", d]

    p = star("griffon.xml", list(cabinet), 286.087e-3 * MEGA, 125 * MEGA, 24 * MICRO, inner)
    p.links |= {f"cabinet{c}": Link(1250 * MEGA, 0) for c in cabinets}
    p.links["backbone"] = Link(1250 * MEGA, 24 * MICRO)
    return p


def cluster_torus():
    """12 equal hosts, 3 x 2 x 2, with a link each way between neighbours: one dimension after the other."""
    sizes = [3, 2, 2]
    hosts = [f"node-{i}" for i in range(12)]
    place = [(i % 3, i // 3 % 2, i // 6) for i in range(12)]
    links, routes = {}, {}
    for a, b in pairs(range(12)):
        here, way = list(place[a]), []
        for d, size in enumerate(sizes):
            while here[d] != place[b][d]:
                ahead = (place[b][d] - here[d]) % size
                # The shorter way. Halfway round, SimGrid goes towards the larger number, and back from it.
                forward = ahead * 2 < size or (ahead * 2 == size and place[b][d] > here[d])
                # Each host owns a link for each dimension, to its next neighbour, up; the way back is down.
                step = 1 if forward else -1
                after = [*here[:d], (here[d] + step) % size, *here[d + 1 :]]
                owner = here if forward else after
                way.append(f"{','.join(map(str, owner))}-{'xyz'[d]}_{'up' if forward else 'down'}")
                here = after
        routes[hosts[a], hosts[b]] = way
        links |= {name: Link(125 * MEGA, 50 * MICRO) for name in way}
    return Platform("cluster_torus.xml", {host: 1.0 for host in hosts}, links, routes)


def cluster_fat_tree():
    """16 equal hosts, four under a switch; two cables from each switch to each of two upper switches."""
    hosts = [f"node-{i}" for i in range(16)]
    links, routes = {}, {}
    for a, b in pairs(range(16)):
        way = [f"node-{a}_up"]
        if a // 4 != b // 4:
            # The destination picks one of the four cables upwards, the source one of the two downwards.
            port = b % 4
            upper = port % 2
            way += [f"switch-{a // 4}-{upper}-{port // 2}_up", f"switch-{b // 4}-{upper}-{a % 2}_down"]
        way.append(f"node-{b}_down")
        routes[hosts[a], hosts[b]] = way
        links |= {name: Link(125 * MEGA, 50 * MICRO) for name in way}
    return Platform("cluster_fat_tree.xml", {host: 1.0 for host in hosts}, links, routes)


PLATFORMS = [small_platform, dogbone, cluster_crossbar, cluster_backbone, griffon, cluster_torus, cluster_fat_tree]


# ---- machine files


class Nodes:
    """Numbers of memory nodes: first the hosts, then the ends of links."""

    def __init__(self, platform):
        self.platform = platform
        self.number = {host: i for i, host in enumerate(platform.speeds)}
        self.bandwidth = {}  # by (from, to)
        before = {}  # what comes before a link on the routes over it
        for (source, _), way in platform.routes.items():
            for point, link in itertools.pairwise([source, *way]):
                before.setdefault(link, set()).add(point)
        self.has_own_entry = {link: len(points) > 1 for link, points in before.items()}
        self.routes = [self.lay(*pair, way) for pair, way in platform.routes.items()]

    def lay(self, source, target, way):
        route = [self.number[source]]
        for link in way:
            if self.has_own_entry[link]:
                self.step(route, self.at(link, "in"), NO_LIMIT)
            self.step(route, self.at(link, "out"), self.platform.links[link].bandwidth)
        self.step(route, self.number[target], NO_LIMIT)
        return route

    def at(self, link, end):
        return self.number.setdefault((link, end), len(self.number))

    def step(self, route, to, bandwidth):
        self.bandwidth[route[-1], to] = bandwidth
        route.append(to)


def machine_file(name, platform):
    nodes, hosts = Nodes(platform), list(platform.speeds)
    size, fastest = len(nodes.number), max(platform.speeds.values())
    classes = {speed: f"class{i}" for i, speed in enumerate(sorted(set(platform.speeds.values()), reverse=True))}
    # Rows are the nodes that read, columns those that the data lie on.
    latency = [[NO_TIME] * size for _ in range(size)]
    for (source, target), _ in platform.routes.items():
        latency[nodes.number[target]][nodes.number[source]] = max(platform.latency((source, target)), NO_TIME)
    bandwidth = [[nodes.bandwidth.get((source, reader), NO_LIMIT) for source in range(size)] for reader in range(size)]
    text = [f'name = "{name}"', f'description = "SimGrid, examples/platforms: {platform.source}"']
    for speed, its in classes.items():
        # A cycle is an operation of the fastest host.
        text += ["[[core_class]]", f'name = "{its}"', f"speed = {speed / fastest!r}"]
        text.append(f"frequency_mhz = {speed / MEGA!r}")
    for i, host in enumerate(hosts):
        text += [f"[[domain]] # {host}", f"package = {i}", f"memory_node = {i}", "cores = 1"]
        text.append(f'class = "{classes[platform.speeds[host]]}"')
    text += ["[[memory_node]]", f"count = {len(hosts)}"]
    text += ["[[memory_node]]", f"count = {size - len(hosts)}", "only_memory = true"]
    text += ["[distance]", f"latency_ns = {latency}", f"bandwidth_gbps = {bandwidth}", f"routes = {nodes.routes}"]
    # A core asks for as many lines at a time as the reader allows, so that only links limit it.
    text += ["[model]", "loads_in_flight = 1e6", "block_bytes = 65536", "[charges]"]
    charged = ["fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock", "wake", "woken"]
    text += [f"{what}_ns = 0" for what in [*charged, "exposure", "signal"]]
    return "\n".join(text) + "\n"


def main():
    by_name = {make.__name__: make for make in PLATFORMS}
    if len(sys.argv) == 1:
        print("\n".join(by_name))
    elif len(sys.argv) == 2 and sys.argv[1] in by_name:
        print(machine_file(sys.argv[1], by_name[sys.argv[1]]()), end="")
    else:
        sys.exit(f"one of: {', '.join(by_name)}")


if __name__ == "__main__":
    main()

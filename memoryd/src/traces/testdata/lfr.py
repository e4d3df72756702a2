"""Draws the graphs lfr-MM-S.txt of this folder (mixing MM tenths, seed S), and says how well others divide them.

Lancichinetti, Fortunato, Radicchi, "Benchmark graphs for testing community detection algorithms" (2008), by the
generator of networkx 3.6.1; the reference is the best of twenty seeds of leidenalg 0.12.0, run until nothing is gained
(igraph 1.0.0's own Leiden comes to the same six places). Edges as pairs of nodes, the smaller first, sorted, no loops.

    python3 -m pip install networkx==3.6.1 igraph==1.0.0 leidenalg==0.12.0
    python3 lfr.py
"""

import igraph
import leidenalg
import networkx

PARAMETERS = dict(tau1=2, tau2=1.1, average_degree=15, max_degree=50, min_community=20, max_community=50)

for mixing in (0.1, 0.3):
    for seed in (1, 2, 3):
        graph = networkx.LFR_benchmark_graph(1000, mu=mixing, seed=seed, max_iters=2000, **PARAMETERS)
        graph.remove_edges_from(networkx.selfloop_edges(graph))
        edges = sorted((min(a, b), max(a, b)) for a, b in graph.edges())
        with open(f"lfr-{int(mixing * 10):02d}-{seed}.txt", "w") as file:
            file.writelines(f"{a} {b}\n" for a, b in edges)
        known = igraph.Graph(n=1000, edges=edges)
        divided = (
            leidenalg.find_partition(known, leidenalg.ModularityVertexPartition, n_iterations=-1, seed=n)
            for n in range(20)
        )
        print(f"mixing {mixing} seed {seed}: {len(edges)} edges, {max(d.modularity for d in divided):.6f}")

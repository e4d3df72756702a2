"""Serves one model with the real server of llama.cpp, on loopback and a port of its own, until it is ended.

usage: serve.py MODEL NAME CONTEXT

Prints `listens on http://127.0.0.1:PORT` once it answers.
"""

import sys
import threading
import urllib.request

import xllamacpp


def main(model, name, context):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {name}
    params.n_ctx = int(context)
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.offline = True
    params.use_jinja = True
    params.sampling.seed = 7
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    params.n_gpu_layers = 0
    server = xllamacpp.Server(params)
    urllib.request.urlopen(server.listening_address + "/health", timeout=60).read()
    print("listens on " + server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])

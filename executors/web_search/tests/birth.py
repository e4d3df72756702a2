"""What web_search promises where there is no net: at its birth no server can be reached."""


def refused(case, error_class="Forbidden", **args):
    return {"name": case, "files": {}, "args": {"query": "bread", **args}, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached"),
        refused("nor for many results", limit=20),
        refused("nor by its name", account="main"),
        refused("blanks are nothing to search for", "BadQuery", query=" \t "),
    ]

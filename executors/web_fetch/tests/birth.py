"""What web_fetch promises where there is no net: at its birth no place can be reached."""


def cases():
    def refused(name, url, error_class):
        return {"name": name, "files": {}, "args": {"url": url}, "expect": {"ok": False, "class": error_class}}

    return [
        refused("a place that was not decided on cannot be reached", "https://example.org/", "Forbidden"),
        refused("nor without TLS", "http://example.org:8080/x?y", "Forbidden"),
        refused("a file is no page", "file:///etc/passwd", "BadUrl"),
        refused("an address without a scheme", "example.org", "BadUrl"),
        refused("an address with a password", "https://user:pass@example.org/", "BadUrl"),
        refused("an address with a blank", "https://example.org/a b", "BadUrl"),
        refused("an address with a line break", "https://example.org/\r\nHost: evil", "BadUrl"),
        refused("a name that is not plain", "https://b\u00fccher.example/", "BadUrl"),
        refused("a port that is none", "https://example.org:99999/", "BadUrl"),
        refused("an address of numbers is no name", "http://127.0.0.1/", "Forbidden"),
    ]

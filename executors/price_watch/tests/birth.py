"""What price_watch promises where there is no net: at its birth no place can be reached."""


def cases():
    def refused(name, url, error_class, **more):
        return {"name": name, "files": {}, "args": {"url": url, **more}, "expect": {"ok": False, "class": error_class}}

    return [
        refused("a shop that was not decided on cannot be reached", "https://example.org/lamp", "Forbidden"),
        refused("nor where a price was told before", "https://example.org/lamp", "Forbidden", seen="49.90 EUR", below=40),
        refused("nor without TLS", "http://example.org:8080/lamp", "Forbidden"),
        refused("a file is no shop", "file:///etc/passwd", "BadUrl"),
        refused("an address without a scheme", "example.org/lamp", "BadUrl"),
        refused("an address with a password", "https://user:pass@example.org/lamp", "BadUrl"),
        refused("an address with a line break", "https://example.org/\r\nHost: evil", "BadUrl"),
        refused("an address of numbers is no name", "http://127.0.0.1/lamp", "Forbidden"),
    ]

"""What feed_read promises where there is no net: at its birth no place can be reached."""


def cases():
    def refused(name, url, error_class, **more):
        return {"name": name, "files": {}, "args": {"url": url, **more}, "expect": {"ok": False, "class": error_class}}

    return [
        refused("a place that was not decided on cannot be reached", "https://example.org/feed.xml", "Forbidden"),
        refused("nor where something was told before", "https://example.org/feed.xml", "Forbidden", seen="0123456789ab"),
        refused("nor without TLS", "http://example.org:8080/rss", "Forbidden"),
        refused("a file is no feed", "file:///etc/passwd", "BadUrl"),
        refused("an address without a scheme", "example.org/rss", "BadUrl"),
        refused("an address with a password", "https://user:pass@example.org/rss", "BadUrl"),
        refused("an address with a line break", "https://example.org/\r\nHost: evil", "BadUrl"),
        refused("an address of numbers is no name", "http://127.0.0.1/rss", "Forbidden"),
    ]

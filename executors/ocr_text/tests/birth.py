"""What ocr_text promises, case by case. Where `tesseract` is not there, what needs it is not tried."""

import base64

PROGRAM = "/usr/bin/tesseract"
# "Invoice number 42", and below it "The total is 135 euro", black on white: a PNG of 272 by 80 pixels.
INVOICE = (
    "iVBORw0KGgoAAAANSUhEUgAAARAAAABJAQAAAADdh0QzAAACQUlEQVR42u3UTW6bQBQHcKypxK50mYUVDpFNIiE4Qq/QIzTqxkjEQ5SFd3WXXZkr9ARp"
    "rCy8C0eoI6TOEsgsMiO/8PrGxubDVr1Nq7CAEfqJ938MDwuPHtY/SqC5p+vrrx2p+EECY3aMqGjQI9gnxZU+Rp64asjVIn2eA7iPuJrm+Y9CT8D9jr85"
    "NCRiQsSgnBiVnafxp5Ap51uPXAoxjMr8lKssT7++H13KxQQf2oUiLVI/ytAPtMzT5PRcZ2JKRHfIg+8JDDYkOAchEpzxskVe5AP3RMUDvWrILc/2iVWT"
    "C1iyBH0uOmTWI3aCHk/bRK8Jxy0RmKDlJoeJ2GRZE7dDAj+ijrZEG1KNgzYBIhJdQ6ZEQvlMJOJdEkPhxBR36RBhhW2I1SF8Tnt0x/Wq+Ehxb6BH/tdR"
    "ey2kGdZ8M3dJjyjLM6uf+FKTG2CFc4gkZlDXhMGgRzCFhpjVGZYS/04k6n1yX7nI7ouhm1eRW5NlBatTd0eulVMN4uLEyauRU5O7CJ6G9o6EJX3Qw3C1"
    "yKsvOZGyCHDmQaGyHRnJDBM/REHEZDFNux6U60wbAlLibByirIn9PMGAiGwRYcgFsry6NOQRhSFSlg1ZMvpZXCgio8DEJWINieg+KalQ5GyJ1yX0nyAi"
    "ifApETCFYJ+MQ5kRSYmoLWl3RMS/WhNRFwogkmWLUPLEi+R9/ZQSF5jcjqRuXh0ohtcWfKCOPjsYn7MlnX1LqmYDAGycX1cnZ0RcjD27cHEZvJPgvA3s"
    "G3mt5A/HeMFPcgUyfQAAAABJRU5ErkJggg=="
)


def image(content):
    return {"base64": base64.b64encode(content).decode("ascii")}


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    invoice = {"receipts/a.png": {"base64": INVOICE}}
    white = b"P5\n800 400\n255\n" + b"\xff" * (800 * 400)
    cut = base64.b64decode(INVOICE)[:200]
    return [
        {
            "name": "what is written in an image is read line by line",
            "needs": PROGRAM,
            "files": invoice,
            "args": {"path": "receipts/a.png"},
            "expect": {"ok": True, "values": {"/content": "Invoice number 42\nThe total is 135 euro\n", "/truncated": False}},
        },
        {
            "name": "an image without writing has none",
            "needs": PROGRAM,
            "files": {"white.pgm": image(white)},
            "args": {"path": "white.pgm"},
            "expect": {"ok": True, "values": {"/content": "", "/sure": 0}},
        },
        refused("NotAnImage", name="a broken image is refused", needs=PROGRAM, files={"a.png": image(cut)}, args={"path": "a.png"}),
        refused("NotAnImage", name="what is no image is not handed to the program", files={"a.png": {"text": "hello"}}, args={"path": "a.png"}),
        refused("NotAnImage", name="a list of names is not followed", files={"a.txt": {"text": "receipts/a.png\n"}, **invoice}, args={"path": "a.txt"}),
        refused("NotAFile", name="a folder is no image", files={"a.png": {"folder": True}}, args={"path": "a.png"}),
        refused("NotAFile", name="a pipe is not waited for", files={"a.png": {"fifo": True}}, args={"path": "a.png"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.png": {"link": "/etc/passwd"}}, args={"path": "a.png"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files={}, args={"path": "../a.png"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.png"}),
    ]

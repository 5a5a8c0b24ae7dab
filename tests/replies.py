"""A server on this machine that answers as the providers' APIs do, for the code blocks that use a real client."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["serve"]

ARGUMENTS: dict[str, dict[str, Any]] = {"weather": {"city": "Bonn", "days": "2"}, "find_order": {"order_id": 45128}}
TEXT = "There you are."


def anthropic_message(body: dict[str, Any]) -> dict[str, Any]:
    """A call of the first tool, until its result has come; then a text."""
    is_answered = not isinstance(body["messages"][-1]["content"], str)
    name = body["tools"][0]["name"]
    call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": ARGUMENTS[name]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "stop_reason": "end_turn" if is_answered else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "text", "text": TEXT} if is_answered else call],
    }


def anthropic_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    message = anthropic_message(body)
    [block] = message["content"]
    begun = block | ({"input": {}} if block["type"] == "tool_use" else {"text": ""})
    text = json.dumps(block.get("input"))
    delta = (
        {"type": "input_json_delta", "partial_json": text}
        if block["type"] == "tool_use"
        else {"type": "text_delta", "text": block["text"]}
    )
    return [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def openai_completion(body: dict[str, Any]) -> dict[str, Any]:
    is_answered = body["messages"][-1]["role"] == "tool"
    name = body["tools"][0]["function"]["name"]
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(ARGUMENTS[name])}}
    message: dict[str, Any] = {"role": "assistant", "content": TEXT if is_answered else None}
    if not is_answered:
        message["tool_calls"] = [call]
    finish = "stop" if is_answered else "tool_calls"
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_stream = bool(body.get("stream"))
        if is_stream:
            events = anthropic_events(body)
            text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        else:
            answer = openai_completion(body) if "completions" in self.path else anthropic_message(body)
            text = json.dumps(answer)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def serve() -> ThreadingHTTPServer:
    """Start the server in a thread; its address is ``server_address``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server

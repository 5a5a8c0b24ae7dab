BEGIN TRANSACTION;
CREATE TABLE toolshape_calls (
	"key" VARCHAR(64) NOT NULL, 
	scope TEXT NOT NULL, 
	call_id TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	owner VARCHAR(32) NOT NULL, 
	lease_until DOUBLE NOT NULL, 
	started DOUBLE NOT NULL, 
	finished DOUBLE, 
	outcome TEXT, 
	PRIMARY KEY ("key")
);
INSERT INTO "toolshape_calls" VALUES('31dd274171852061a70c05593fa811367b4666ec4014b43d0a1fb96829e4e3d4','case 1','call_3','refund','b10dd0c8338ad0c94583f458b090474833db16d94b4a496b7564389c5c0af102','done','fbcd4956224649f2be58b53985f44328',1.79571580740201210968e+09,1.79571577740201210977e+09,1.79571577740700101845e+09,'{"text": "refunded 1.00 for 78", "is_text": true, "elapsed": 4e-05, "parts": [], "value": "refunded 1.00 for 78"}');
INSERT INTO "toolshape_calls" VALUES('9ad337f449988e35e29666cdb3b7a9644e51fbb9da421caa78e975276412cfcf','conversation 7af3da2846c544c1b6bd8c09687a7212, turn 1','call_2','refund','593ac00d4da88aa3e8a6356f95e12894f3566e932e537ec321a9603b98f5700a','done','d746749ec8c84b0eac1fcf36991df860',1.79571580750999784462e+09,1.79571577750999784471e+09,1.79571577751301527021e+09,'{"text": "refund was not allowed and was not run: not now", "is_text": null, "elapsed": 0.0, "parts": [], "error": {"code": "denied", "tool": "refund", "text": "not now", "names": [], "retryable": false, "reference": null, "problems": []}}');
CREATE TABLE toolshape_paused (
	token VARCHAR(32) NOT NULL, 
	made DOUBLE NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY (token)
);
INSERT INTO "toolshape_paused" VALUES('3e4cc0e7e84149649946246558f95fa7',1.79571577741299581525e+09,'{"assistant": [{"role": "assistant", "content": null, "tool_calls": [{"id": "call_3", "type": "function", "function": {"name": "refund", "arguments": "{\"order_id\": \"78\", \"amount\": 1.0}"}}, {"id": "call_4", "type": "function", "function": {"name": "refund", "arguments": "{\"order_id\": \"79\", \"amount\": 2.0}"}}, {"id": "call_5", "type": "function", "function": {"name": "log_in", "arguments": "{\"user\": \"ann\", \"password\": \"hunter2\"}"}}]}], "calls": [{"id": "call_3", "tool": "refund", "name": "refund", "raw": {"id": "call_3", "type": "function", "function": {"name": "refund", "arguments": "{\"order_id\": \"78\", \"amount\": 1.0}"}}, "arguments": "{\"order_id\": \"78\", \"amount\": 1.0}", "result": {"text": "refunded 1.00 for 78", "is_text": true, "elapsed": 4e-05, "parts": [], "value": "refunded 1.00 for 78"}}, {"id": "call_4", "tool": "refund", "name": "refund", "raw": {"id": "call_4", "type": "function", "function": {"name": "refund", "arguments": "{\"order_id\": \"79\", \"amount\": 2.0}"}}, "arguments": "{\"order_id\": \"79\", \"amount\": 2.0}", "is_canonical": false}, {"id": "call_5", "tool": "log_in", "name": "log_in", "raw": {"id": "call_5", "type": "function", "function": {"name": "log_in", "arguments": "{\"user\": \"ann\", \"password\": \"hunter2\"}"}}, "arguments": "{\"user\": \"ann\", \"password\": \"hunter2\"}", "is_canonical": true}]}');
COMMIT;

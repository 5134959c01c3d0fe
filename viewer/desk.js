// A desk in a worker of its own, as promises. A request that it cannot answer rejects with an Error whose message is a sentence;
// `crashed` says that the program itself has stopped, and `stopped` that the page stopped it. The next request starts another
// one, which has no files.

// The worker's script and the program: in this file, or beside it on a server.
function workerAddress() {
  const text = document.getElementById("worker")?.textContent;
  return text ? URL.createObjectURL(new Blob([text], { type: "text/javascript" })) : "worker.js";
}

function programBytes() {
  const text = document.getElementById("program")?.textContent.trim();
  return text ? Uint8Array.from(atob(text), (one) => one.charCodeAt(0)) : null;
}

class Desk {
  constructor() { Object.assign(this, { worker: null, waiting: new Map(), count: 0, progress: null, printed: null }); }

  start() {
    this.worker = new Worker(workerAddress());
    this.worker.onmessage = ({ data }) => {
      if (data.progress) this.progress?.(data.progress);
      else if (data.printed !== undefined) this.printed?.(data.printed);
      else this.answered(data);
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.failed(event.message || "the worker could not be started");
    };
    this.request("start", programBytes()).catch(() => {}); // whoever waits is told as well
  }

  answered({ id, value, crash }) {
    const one = this.waiting.get(id);
    this.waiting.delete(id);
    if (crash !== undefined) {
      one?.reject(Object.assign(new Error(crash), { crashed: true }));
      this.failed(crash);
    } else one?.resolve(value);
  }

  // All that wait for a program that has stopped.
  failed(why, how = { crashed: true }) {
    this.worker?.terminate();
    this.worker = null;
    for (const one of this.waiting.values()) one.reject(Object.assign(new Error(why), how));
    this.waiting.clear();
  }

  // Ends what is under way.
  cancel() { if (this.waiting.size > 0) this.failed("stopped", { stopped: true }); }

  request(name, ...values) {
    if (!this.worker) this.start();
    return new Promise((resolve, reject) => {
      const id = this.count++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, name, values });
    });
  }

  // The text of JSON that a function of the program returns (harness/cli/web/exports.txt) for an object, text or numbers.
  ask(name, ...values) {
    return this.request("call", name, ...values.map((one) => (typeof one === "object" ? JSON.stringify(one) : one)));
  }

  // The same, read.
  async answer(name, ...values) {
    const answer = parseDocument(await this.ask(name, ...values));
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  // Opens files, [{name, file}], in place of those before; `names` are those that the desk is asked for, files or folders.
  // {count, troubles}
  async open(files, names) {
    const leftOut = await this.request("mount", files);
    const asked = names.filter((name) => !leftOut.some((one) => one.name === name));
    const { count, troubles } = asked.length > 0 ? await this.answer("web_desk_open", asked.join("\n"))
      : { count: 0, troubles: [] };
    return { count, troubles: [...leftOut.map(({ why }) => why), ...troubles] };
  }

  // The output of `diagnose --format=json --timeline=3 --what-if` for what is open, as text.
  diagnosis() { return this.ask("web_desk_diagnosis", 3); }

  // Why a step of the second file takes longer than one of the first, for each pair of their traces (docs/compare.md).
  async compare(base, other) { return (await this.answer("web_desk_compare", base, other)).explanations; }
}

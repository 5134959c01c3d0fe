// The quiz of chokepoint.html: a trace or a kernel without its name, three questions, and marks by what was measured or
// counted. Questions, marks and their reasons are those of `quiz` (web_quiz.h).

class QuizView {
  // `from`: the path of a result with traces that the desk has, or null: kernels of the lessons. `openLesson(name)`
  // shows the lesson of a kernel; null where there is none.
  constructor(desk, from, openLesson) {
    Object.assign(this, { desk, from, openLesson });
    const field = (name, value) => {
      this[name] = h("input", { type: "number", min: 0, step: 1, value, name, change: () => this.ask() });
      return h("label", {}, `${name} `, this[name]);
    };
    this.status = h("div", { role: "status" });
    this.runner = new Runner(desk, this.status);
    this.shown = h("div", {});
    this.element = h("article", { "data-quiz": from || "kernels" },
      h("h2", {}, from ? "Quiz: what holds this trace back?" : "Quiz: what is wrong with this kernel?"),
      dim("The same seed draws the same pages, here and by chokepoint quiz. At most a third are after the fix."),
      h("div", { class: "controls" }, field("seed", 1), field("page", 1)), this.status, this.shown);
  }

  request(answers) {
    return { seed: Number(this.seed.value), page: Number(this.page.value), from: this.from, answers };
  }

  answer(answers) { return this.desk.answer("web_quiz", this.request(answers)); }

  // A page without its answers.
  async ask() {
    await this.runner.run(async () => {
      this.shown.replaceChildren();
      const page = await this.answer(null);
      this.page.max = page.pages;
      this.marks = h("div", { class: "marks" });
      const form = h("form", { submit: (event) => { event.preventDefault(); this.mark(form); } },
        page.questions.map((question, number) => this.question(question, number)),
        h("div", { class: "controls" }, h("button", { type: "submit", "data-mark": true }, "Mark my answers")));
      this.shown.replaceChildren(h("pre", { class: "quiz-page" }, page.shown), form, this.marks);
    });
  }

  question({ text, choices, form }, number) {
    const name = `answer-${number}`;
    return h("fieldset", { "data-question": number }, h("legend", {}, `Question ${number + 1}: ${text}`),
      choices.map((choice, i) => h("label", { class: "choice" },
        h("input", { type: "radio", name, value: "abcde"[i] }), ` ${"abcde"[i]}: ${choice}`)),
      form && h("label", {}, `${form} `, h("input", { type: "text", name, size: 8 })));
  }

  async mark(form) {
    const given = new FormData(form), answers = [0, 1, 2].map((number) => (given.get(`answer-${number}`) || "").trim());
    await this.runner.run(async () => {
      const page = await this.answer(answers), points = page.marks.reduce((sum, mark) => sum + mark.points, 0);
      this.marks.replaceChildren(h("h3", {}, `Score: ${points} of ${page.marks.length}`),
        ...page.marks.map((mark, number) => note(`${number + 1} ${mark.word}: ${mark.reason}`,
          mark.points >= 1 ? "good-note" : mark.points > 0 ? "" : "bad-note")),
        h("p", {}, `It was ${page.name}, ${page.variant}.`), h("div", { class: "controls" },
          this.openLesson
            && h("button", { type: "button", click: () => this.openLesson(page.name) }, "Read the lesson"),
          page.page < page.pages && h("button", { type: "button", "data-next": true, click: () => this.next() },
            "Next page")));
    });
  }

  next() {
    this.page.value = Number(this.page.value) + 1;
    return this.ask();
  }
}

async function showQuiz(desk, root, from, openLesson) {
  const view = new QuizView(desk, from, openLesson);
  root.replaceChildren(view.element);
  await view.ask();
}

// A button for each folder among files that were opened which has a result of `run` and its traces.
function quizButtons(desk, root, files) {
  const folders = files.map(({ name }) => /^(.+)\/result\.json$/.exec(name)?.[1]).filter(Boolean);
  return folders.filter((folder) => files.some(({ name }) => name.startsWith(`${folder}/traces/`))).map((folder) =>
    h("button", { type: "button", "data-show": "quiz-traces",
      click: () => showInstead(root, "quiz", (main) => showQuiz(desk, main, folder, null)) }, `Quiz about ${folder}`));
}

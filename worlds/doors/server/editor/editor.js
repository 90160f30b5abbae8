// The editor of the web page: CodeMirror 6 with SPARQL and Turtle. The build puts all of it into one file.
// It lives in a shadow root, whose styles are constructed sheets, so that the page's policy needs no inline style.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { sparql } from "@codemirror/legacy-modes/mode/sparql";
import { turtle } from "@codemirror/legacy-modes/mode/turtle";
import { unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const LANGUAGES = { sparql, turtle };

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: [tags.atom, tags.bool, tags.number], color: "var(--code-number)" },
  { tag: [tags.variableName, tags.standard(tags.variableName)], color: "var(--code-variable)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.meta, tags.tagName, tags.typeName, tags.propertyName], color: "var(--code-name)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", background: "var(--paper)", border: "1px solid var(--strong-line)", borderRadius: "var(--round)", fontSize: "0.84375rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: "12rem", maxHeight: "34rem", overflow: "auto" },
  ".cm-content": { padding: "0.8rem 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 0.7rem" },
  ".cm-gutters": { background: "var(--sunken)", color: "var(--soft)", borderInlineEnd: "1px solid var(--line)", borderStartStartRadius: "var(--round)", borderEndStartRadius: "var(--round)" },
  ".cm-cursor": { borderColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "var(--selected)" },
  ".cm-selectionMatch": { background: "var(--accent-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { background: "none", color: "var(--accent)", fontWeight: "700" },
  ".cm-wrong": { background: "var(--removed-soft)", boxShadow: "inset 3px 0 var(--removed)" },
  ".cm-tooltip": { background: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "var(--round)", fontFamily: "var(--mono)", fontSize: "0.8125rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent-soft)", color: "var(--accent)" },
  ".cm-completionDetail": { color: "var(--soft)" },
  ".cm-panels": { background: "var(--sunken)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels input, .cm-panels button": { background: "var(--paper)", color: "var(--ink)", backgroundImage: "none", border: "1px solid var(--strong-line)", borderRadius: "4px" },
  ".cm-changedLine, .cm-insertedLine": { background: "var(--added-soft)" },
  ".cm-deletedChunk": { background: "var(--removed-soft)", color: "var(--soft)" },
});

const setWrong = StateEffect.define();
const wrong = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setWrong)) return effect.value === null ? Decoration.none : Decoration.set(Decoration.line({ class: "cm-wrong" }).range(effect.value));
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Names of the world, the prefixes, and the variables of the text. */
function completing(names) {
  return async (context) => {
    const word = context.matchBefore(/[?$]?[\p{L}\p{N}_:.<>/#-]*$/u);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    if (/^[?$]/.test(word.text)) {
      const found = new Set(context.state.doc.toString().match(/[?$][\p{L}\p{N}_]+/gu) ?? []);
      found.delete(word.text);
      return { from: word.from, options: [...found].sort().map((label) => ({ label, type: "variable" })), validFor: /^[?$][\p{L}\p{N}_]*$/u };
    }
    const options = await names();
    return { from: word.from, options: options.map(({ name, label, kind }) => ({ label: name, detail: label ?? "", type: kind })), validFor: /^[\p{L}\p{N}_:.<>/#-]*$/u };
  };
}

/**
 * An editor in `parent`. `run` is called for Ctrl-Enter, `edited` when the text changes; `names` gives, as a promise, what
 * is offered: [{name, label, kind}]. `original`, if it is given, is the text that changes are shown against.
 */
export function makeCode(parent, { value, label, language = "sparql", run, edited, names, original = null }) {
  const root = parent.attachShadow({ mode: "open" });
  const place = document.createElement("div");
  root.append(place);
  const comparing = new Compartment();
  const against = (text) => (text === null ? [] : unifiedMergeView({ original: text, mergeControls: false, highlightChanges: true }));
  const view = new EditorView({
    root,
    parent: place,
    state: EditorState.create({
      doc: value,
      extensions: [
        lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightSelectionMatches(), search({ top: true }), EditorView.lineWrapping, indentUnit.of("  "),
        StreamLanguage.define(LANGUAGES[language]), syntaxHighlighting(colours), theme, wrong,
        autocompletion({ override: [completing(names)], activateOnTyping: false, icons: false }),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off", dir: "ltr" }),
        EditorView.updateListener.of((update) => update.docChanged && edited()),
        keymap.of([
          { key: "Mod-Enter", run: () => (run(), true) }, { key: "Ctrl-Enter", run: () => (run(), true) }, { key: "Ctrl-Space", run: startCompletion },
          ...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap,
          { key: "Escape", run: (one) => (one.contentDOM.blur(), true) }, indentWithTab, ...defaultKeymap,
        ]),
        comparing.of(against(original)),
      ],
    }),
  });
  const clear = () => view.dispatch({ effects: setWrong.of(null) });
  return {
    get value() {
      return view.state.doc.toString();
    },
    set value(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    focus: () => view.focus(),
    clear,
    mark(number, column) {
      const line = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
      const at = Math.min(line.from + Math.max(0, (column ?? 1) - 1), line.to);
      view.dispatch({ effects: setWrong.of(line.from), selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
    compare: (text) => view.dispatch({ effects: comparing.reconfigure(against(text)) }),
  };
}

/**
 * Files that a person drops or chooses: what is plainly a whole log is taken in at once, and of anything else is shown first what
 * it is.
 *
 * @module
 */
import { useState } from "preact/hooks";
import { FileReportDialog, LookingDialog } from "./file_report.tsx";
import type { LookAt, LookedAtFile } from "./inspector.ts";
import type { PageStore } from "./page_store.ts";
import { readFile } from "./transfer.ts";

/** After how long a person is told that a file is being looked at, in milliseconds: most files take less. */
const LOOKING_SHOWN_MS = 400;

/** What is on the page because of files. */
type Shown =
  | { readonly kind: "looking"; readonly name: string; readonly cancel: () => void }
  | { readonly kind: "report"; readonly file: LookedAtFile; readonly isBusy: boolean; readonly done: () => void };

/** Takes files in, one after the other. `dialog` is to be drawn; `onTaken` is called when a session was opened. */
export function useDroppedFiles(store: PageStore, lookAt: LookAt | null, onTaken: () => void): {
  readonly take: (files: FileList | null | undefined) => Promise<void>;
  readonly dialog: preact.ComponentChildren;
} {
  const [shown, setShown] = useState<Shown | null>(null);

  const take = async (files: FileList | null | undefined) => {
    for (const dropped of [...files ?? []]) {
      try {
        await takeOne(dropped.name, await readFile(dropped));
      } catch (error) {
        store.report(error);
      }
    }
  };

  const takeOne = async (name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const file = lookAt === null ? null : await look(lookAt, name, bytes);
    if (file === "cancelled") return;
    try {
      if (file !== null && isWorthALook(file)) await show(file);
      else if (await store.import(name, bytes)) onTaken();
    } finally {
      file?.close();
      setShown(null);
    }
  };

  const look = async (lookAt: LookAt, name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const abort = new AbortController();
    const timer = setTimeout(() => setShown({ kind: "looking", name, cancel: () => abort.abort() }), LOOKING_SHOWN_MS);
    try {
      return await lookAt(name, bytes, abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return "cancelled";
      throw error;
    } finally {
      clearTimeout(timer);
      setShown(null);
    }
  };

  /** Resolves when the dialog was closed. */
  const show = (file: LookedAtFile) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    setShown({ kind: "report", file, isBusy: false, done: resolve });
    return promise;
  };

  const choose = async (file: LookedAtFile, how: "import" | "salvage", keep: readonly string[], done: () => void) => {
    setShown({ kind: "report", file, isBusy: true, done });
    try {
      for (const { name, bytes } of await file.make(how, how === "salvage" ? keep : undefined)) {
        if (await store.import(name, bytes)) onTaken();
      }
    } catch (error) {
      store.report(error);
    }
    done();
  };

  const dialog = shown === null
    ? null
    : shown.kind === "looking"
    ? <LookingDialog name={shown.name} onClose={shown.cancel} />
    : (
      <FileReportDialog
        report={shown.file.report}
        isBusy={shown.isBusy}
        onTake={(how, keep) => choose(shown.file, how, keep, shown.done)}
        onClose={shown.done}
      />
    );
  return { take, dialog };
}

/** A whole log needs no words, and neither does a file of which nothing can be made: taking it in says why not. */
function isWorthALook({ report: { kind, take, findings, salvage } }: LookedAtFile): boolean {
  if (take.how === "as it is") return salvage !== null || findings.some(({ severity }) => severity === "damage");
  return take.how !== "refused" || salvage !== null || kind !== "unknown";
}

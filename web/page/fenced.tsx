/**
 * A fence around a part of the page: what cannot be drawn takes that part down and nothing else.
 *
 * Logs come from elsewhere too. Whatever one of them holds, the other sessions, the export and the question that waits stay there.
 *
 * @module
 */
import { Component, type ComponentChildren } from "preact";

interface FencedProps {
  /** What stands inside, for the message. */
  readonly name: string;
  readonly children: ComponentChildren;
}

/** Draws its children, or why they cannot be drawn. Give it another `key` to try again. */
export class Fenced extends Component<FencedProps, { readonly found: string | null }> {
  override state = { found: null };

  static override getDerivedStateFromError(error: unknown): { readonly found: string } {
    return { found: error instanceof Error ? error.message : String(error) };
  }

  override render({ name, children }: FencedProps, { found }: { readonly found: string | null }) {
    if (found === null) return children;
    return (
      <div class="card problem" role="alert">
        <p>
          <strong>Cannot draw {name}</strong> {found}
        </p>
        <button type="button" class="quiet" onClick={() => this.setState({ found: null })}>Try again</button>
      </div>
    );
  }
}

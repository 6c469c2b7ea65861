/**
 * Evidence about a call, event by event: what each proves, and where it lies in the file.
 *
 * @module
 */
import type { Proof } from "../../mod.ts";
import type { SeqPlace } from "../protocol.ts";
import { useAnswer } from "./use_store.ts";

/** Draws the evidence. */
export function Proofs({ proofs, askPlaces, onSeq }: {
  readonly proofs: readonly Proof[];
  /** Finds out where events lie in the log. */
  readonly askPlaces: (seqs: readonly number[]) => Promise<readonly SeqPlace[]>;
  readonly onSeq: (seq: number) => void;
}) {
  const seqs = proofs.map(({ seq }) => seq);
  const places = useAnswer(() => askPlaces(seqs), [seqs.join()], []);
  return (
    <ol class="proofs" aria-label="Evidence in the log">
      {proofs.map(({ seq, says }) => (
        <li key={seq}>
          <button type="button" class="link" onClick={() => onSeq(seq)}>event {seq}</button> {says}
          <span class="place">{placeWords(places.find((place) => place.seq === seq))}</span>
        </li>
      ))}
    </ol>
  );
}

function placeWords(place: SeqPlace | undefined): string {
  return place === undefined ? "" : `frame ${place.frame}, byte ${place.offsetBytes} of the file`;
}

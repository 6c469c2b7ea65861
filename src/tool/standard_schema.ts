/**
 * The part of the Standard Schema interface that is used here, so that any validator that follows it can describe a tool.
 *
 * @see Standard Schema 1.1, `StandardSchemaV1` and `StandardJSONSchemaV1`
 * @module
 */

/** A schema of any validator that checks values and writes itself down as JSON Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The standard's own key. */
  readonly "~standard": StandardProps<Input, Output>;
}

/** What a schema says about itself. */
export interface StandardProps<Input = unknown, Output = Input> {
  /** Of the standard. */
  readonly version: 1;
  /** Whose schema it is. */
  readonly vendor: string;
  /** Only for the compiler: the types before and after checking. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  /** Checks a value, at once or later. */
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** Writes the schema down as JSON Schema, before (`input`) or after (`output`) conversions. May throw. */
  readonly jsonSchema: {
    readonly input: (options: { readonly target: string }) => Record<string, unknown>;
    readonly output: (options: { readonly target: string }) => Record<string, unknown>;
  };
}

/** The value as the schema made it, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that is wrong. */
export interface StandardIssue {
  /** What is wrong. */
  readonly message: string;
  /** Where, from the outside in. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

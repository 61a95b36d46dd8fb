/** The syntax tree of parsed queries. */

export interface CornerPoint {
  readonly lat: number
  readonly lon: number
}

/** `at`: the number of characters before the value. */
export type Value =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'number'; readonly number: number; readonly at: number }
  | { readonly kind: 'boolean'; readonly boolean: boolean; readonly at: number }
  | { readonly kind: 'null'; readonly at: number }
  | { readonly kind: 'search'; readonly of: Expression; readonly at: number }
  /** Corners as points or as geohashes. */
  | { readonly kind: 'box'; readonly corners: readonly [Corner, Corner]; readonly at: number }

type Corner = CornerPoint | string

export type Operator = '==' | '!=' | '=@' | '!@' | '=*' | '!*' | '=^' | '!^' | '>=' | '<=' | '>' | '<'

export interface Comparison {
  readonly kind: 'compare'
  readonly field: string
  readonly operator: Operator
  readonly value: Value
  readonly at: number
}

export type Expression =
  | { readonly kind: 'and' | 'or'; readonly of: readonly Expression[]; readonly at: number }
  | { readonly kind: 'not' | 'group'; readonly of: Expression; readonly at: number }
  /** A text without a field. */
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | Comparison

/** An explanation of how a part of the text was read, where the reading may surprise. */
export interface Note {
  /** The number of characters before the part that the note is about. */
  readonly position: number
  readonly note: string
}

import type { Secret } from '../../platform/secrets/sealed-texts.ts'
import type { Field, Members, ValuesOf } from '../fields/field.ts'
import { form } from '../fields/forms.ts'
import { bool, int, select } from '../fields/values.ts'

/** The readers of a section: `public` everybody, also before sign-in; `user` everybody with a token; else holders of the right. */
export type Visibility = 'public' | 'user' | 'system.config'

export interface Section<M extends Members = Members> {
  /** The page of the form. */
  readonly group: string
  readonly visible: Visibility
  readonly members: M
  readonly field: Field<ValuesOf<M>>
  /** Rules across members; returns the path below the section and what is expected there. */
  readonly rule?: (values: ValuesOf<M>) => { path: string; expected: string } | null
}

export function section<const M extends Members>(
  group: string,
  visible: Visibility,
  members: M,
  rule?: (values: ValuesOf<M>) => { path: string; expected: string } | null,
  /** The addresses to which the secrets of the section are sent. */
  sentTo?: (values: ValuesOf<M>) => readonly Secret[],
): Section<M> {
  return { group, visible, members, field: form(members, sentTo ? { sentTo } : {}), ...(rule ? { rule } : {}) }
}

/** Members that say which data of parents and of linked objects a document has. */
export const dataAround = {
  include_parents: bool(false),
  merge_linked_objects: select(
    ['none', 'all', 'in_main_search', 'not_in_main_search', 'not_in_main_search_unless_reverse'],
    'none',
  ),
  merge_max_depth: int(1, { min: 1, max: 9 }),
}

/** How a list goes on, as the protocol tells it. @see OAI-PMH 2.0, section 3.5 */
import { tokenElement } from './markup.ts'
import type { Resumed, Tokens } from './tokens.ts'

export interface Progress {
  /** Entries before this answer. */
  readonly cursor: number
  readonly total: number
  /** The position at which this answer continues; null: it begins the list. */
  readonly resumed: Resumed | null
}

/** The token of a list that goes on, an empty one at the end of a list that went on, else nothing. */
export async function resumptionElement(
  tokens: Pick<Tokens, 'issue'>,
  next: Resumed | null,
  { cursor, total, resumed }: Progress,
): Promise<string> {
  if (next) return tokenElement({ ...(await tokens.issue(next)), total, cursor })
  return resumed ? tokenElement({ token: null, expires: null, total, cursor }) : ''
}

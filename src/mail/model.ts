import type { Cause } from '../platform/cause.ts'
import type { Attachment } from './transport.ts'

export interface Mail {
  /** Kind of mail, for the log: `transition_resolve`, … */
  readonly template: string
  readonly to: readonly string[]
  readonly cc?: readonly string[]
  readonly bcc?: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html?: string
  /** A secret in the content, such as that of a link: it is removed from the subject before the subject is logged. */
  readonly secret?: string
  /** Languages of the reader, best first: they choose the signature. */
  readonly languages: readonly string[]
  /** Further keys of the log entry: `Collection`, `User`, `TaskID`, … */
  readonly cause?: Readonly<Record<string, unknown>>
}

/** A mail that a user has written by hand, with every address checked. */
export interface WrittenMail {
  readonly template: string
  /** Absent: the configured sender. */
  readonly from?: string | undefined
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
  readonly attachments: readonly Attachment[]
}

/** A waiting mail, with its cause. */
export type QueuedMail = Mail & { readonly why?: Cause }

/** `key` identifies a mail: if it is queued twice, it is sent once. */
export type KeyedMail = Mail & { readonly key: string }

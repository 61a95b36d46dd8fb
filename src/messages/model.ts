import type { Localized } from '../platform/values/localized.ts'

export interface Message {
  readonly id: number
  readonly version: number
  readonly reference: string | null
  readonly title: Localized
  readonly message: Localized
  /** The text that readers must agree to; empty: there is none. */
  readonly confirmation: Localized
  /** The place where a front end shows it; null: it is shown at sign-in. */
  readonly webfrontendType: string | null
  readonly webfrontendProps: Readonly<Record<string, string>>
  readonly confirmEveryVersion: boolean
  readonly showAlways: boolean
  readonly clientIds: readonly string[]
  readonly startTime: Date | null
  readonly endTime: Date | null
  /** The groups that it is addressed to; null: all readers. */
  readonly groupIds: readonly number[] | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A reader of messages, with its client. */
export interface Reader {
  /** Null: not signed in. */
  readonly userId: number | null
  readonly groupIds: readonly number[]
  readonly clientId: string | null
}

/** A message in the view of one reader. */
export interface OwnMessage extends Message {
  /** Whether the reader has agreed to it, or has seen it if it requires no agreement; in this version if every version counts. */
  readonly confirmed: boolean
}

/** Whether its reader must agree before going on. */
export function asks(message: Message): boolean {
  return Object.keys(message.confirmation).length > 0
}

/** Whether it must be shown (again): until the agreement, if it requires one; otherwise once, or always. */
export function isOpen(message: OwnMessage): boolean {
  return !message.confirmed || (message.showAlways && !asks(message))
}

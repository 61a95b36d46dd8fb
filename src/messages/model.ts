/** Text by language. */
export type Localized = Readonly<Record<string, string>>

export interface Message {
  readonly id: number
  readonly version: number
  readonly reference: string | null
  readonly title: Localized
  readonly message: Localized
  /** What its reader has to agree to; empty: nothing. */
  readonly confirmation: Localized
  /** Where a front end shows it; null: it is shown at sign-in. */
  readonly webfrontendType: string | null
  readonly webfrontendProps: Readonly<Record<string, string>>
  readonly confirmEveryVersion: boolean
  readonly showAlways: boolean
  readonly clientIds: readonly string[]
  readonly startTime: Date | null
  readonly endTime: Date | null
  /** Groups that it is addressed to; null: everybody. */
  readonly groupIds: readonly number[] | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Who reads messages, and with which client. */
export interface Reader {
  /** Null: nobody has signed in. */
  readonly userId: number | null
  readonly groupIds: readonly number[]
  readonly clientId: string | null
}

/** A message for somebody. */
export interface OwnMessage extends Message {
  /** Agreed to, or seen where it asks for nothing; in this version where every version counts. */
  readonly confirmed: boolean
}

/** Whether its reader has to agree before going on. */
export function asks(message: Message): boolean {
  return Object.keys(message.confirmation).length > 0
}

/** Whether it is to be shown (again): what asks, until it is confirmed; the rest once, or always. */
export function isOpen(message: OwnMessage): boolean {
  return !message.confirmed || (message.showAlways && !asks(message))
}

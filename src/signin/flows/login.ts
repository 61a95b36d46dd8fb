/** A sign-in on the pages that is not finished. */
export interface NewLogin {
  readonly clientId: string
  /** Where the code goes in the end: checked. */
  readonly redirectUri: string
  readonly redirectUriGiven: boolean
  readonly state: string
  readonly scopes: readonly string[]
  readonly codeChallenge: string | null
  /** The user asked to stay signed in. */
  readonly keepLogin: boolean
  /** The browser id that tokens are to be bound to. */
  readonly boundBrowserHash: Buffer | null
  /** The browser that it belongs to, by the cookie of the pages. */
  readonly browserHash: Buffer
  /** Null: nobody has proved anything yet. */
  readonly userId: number | null
  /** How it was proved: `native`, … */
  readonly method: string | null
  /** What was typed. */
  readonly login: string | null
  readonly remoteAddr: string
  readonly userAgent: string | null
  /** What steps have kept, by step. */
  readonly notes: Readonly<Record<string, unknown>>
}

export interface Login extends NewLogin {
  /** Names it in addresses and forms; of use only with the cookie of its browser. */
  readonly id: string
  /** Names of the steps that are passed. */
  readonly stepsDone: readonly string[]
  /** Wrong answers since the last step was passed. */
  readonly failures: number
  readonly createdAt: Date
}

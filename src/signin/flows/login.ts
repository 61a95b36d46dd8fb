/** An unfinished sign-in on the pages. */
export interface NewLogin {
  readonly clientId: string
  /** The final target of the code: already checked. */
  readonly redirectUri: string
  readonly redirectUriGiven: boolean
  readonly state: string
  readonly scopes: readonly string[]
  readonly codeChallenge: string | null
  /** The user asked to stay signed in. */
  readonly keepLogin: boolean
  /** The browser id to which tokens will be bound. */
  readonly boundBrowserHash: Buffer | null
  /** The browser of the sign-in, by the cookie of the pages. */
  readonly browserHash: Buffer
  /** Null: nothing was proved yet. */
  readonly userId: number | null
  /** The method of the proof: `native`, … */
  readonly method: string | null
  /** The typed login. */
  readonly login: string | null
  readonly remoteAddr: string
  readonly userAgent: string | null
  /** Data that steps have kept, by step. */
  readonly notes: Readonly<Record<string, unknown>>
}

export interface Login extends NewLogin {
  /** Identifies it in addresses and forms; only valid with the cookie of its browser. */
  readonly id: string
  /** Names of the steps that are passed. */
  readonly stepsDone: readonly string[]
  /** Wrong answers since the last step was passed. */
  readonly failures: number
  readonly createdAt: Date
}

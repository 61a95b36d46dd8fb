/** A sign-in on the pages that is not finished. */
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
  /** The browser id that tokens are to be bound to. */
  readonly boundBrowserHash: Buffer | null
  /** The browser that it belongs to, by the cookie of the pages. */
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
  /** Names it in addresses and forms; of use only with the cookie of its browser. */
  readonly id: string
  /** Names of the steps that are passed. */
  readonly stepsDone: readonly string[]
  /** Wrong answers since the last step was passed. */
  readonly failures: number
  readonly createdAt: Date
}

/** A record of a publication, as it is stored. */
export interface Publication {
  readonly id: number
  readonly systemObjectId: number
  /** 0: always the latest version. */
  readonly version: number
  readonly collector: string
  readonly publishUri: string
  readonly svcUri: string
  readonly createdAt: Date
}

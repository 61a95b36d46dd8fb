/** Errors of the protocol, with their statuses. @see OAI-PMH 2.0, section 3.6 */
const statuses = {
  badArgument: 400,
  badResumptionToken: 400,
  badVerb: 400,
  cannotDisseminateFormat: 400,
  idDoesNotExist: 404,
  // An empty list is a successful answer.
  noRecordsMatch: 200,
  // Not part of the protocol, which has no code for failures of the service.
  internalServerError: 500,
} as const

export type ProtocolErrorCode = keyof typeof statuses

export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string) {
    super(message)
    this.code = code
  }

  get status(): number {
    return statuses[this.code]
  }
}

export const badArgument = (message: string): ProtocolError => new ProtocolError('badArgument', message)

export const noRecords = (): ProtocolError => new ProtocolError('noRecordsMatch', 'There is nothing of that kind.')

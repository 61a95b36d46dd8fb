import { catalogue, type ErrorCode } from './catalogue.ts'

/**
 * A failure that the client is told about. Status, package and the general text come from the catalogue;
 * `parameters` name what is wrong (`{ field: 'title', value: 'x' }`), `message` says it in one sentence.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly parameters: Record<string, unknown>

  constructor(
    code: ErrorCode,
    parameters: Record<string, unknown> = {},
    options: { message?: string; cause?: unknown } = {},
  ) {
    super(options.message ?? catalogue[code].text, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.parameters = parameters
  }

  get status(): number {
    return catalogue[this.code].status
  }
}

/** A `ServerGeneric` with its sentence: for wrong input that has no code of its own. */
export function badRequest(message: string, parameters: Record<string, unknown> = {}): AppError {
  return new AppError('ServerGeneric', parameters, { message })
}

/** Wire form of an error (specification, Errors). */
export interface ErrorBody {
  code: string
  package: string
  realm: string
  statuscode: number
  error: string
  message: string
  parameters: Record<string, unknown>
  request_id?: string
}

export function errorBody(error: AppError, requestId?: string): ErrorBody {
  const entry = catalogue[error.code]
  return {
    code: error.code,
    package: entry.package,
    realm: 'api',
    statuscode: entry.status,
    error: error.message,
    message: error.message,
    parameters: error.parameters,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }
}

import { catalogue, type ErrorCode } from './catalogue.ts'

/**
 * A failure that is reported to the client. Status, package and the general text come from the catalogue; `parameters` name the
 * details (`{ field: 'title', value: 'x' }`), `message` describes the failure in one sentence.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly parameters: Record<string, unknown>
  /** The refusal by an external program with its own code: the client gets that code, and `code` is for our log. */
  readonly foreign: ForeignRefusal | undefined

  constructor(
    code: ErrorCode,
    parameters: Record<string, unknown> = {},
    options: { message?: string; cause?: unknown; foreign?: ForeignRefusal } = {},
  ) {
    super(options.message ?? catalogue[code].text, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.parameters = parameters
    this.foreign = options.foreign
  }

  get status(): number {
    return this.foreign?.status ?? catalogue[this.code].status
  }
}

/**
 * `SystemRightRequired`: `right` is the right that is missing, `rights` are those of which each is enough. Root may do
 * everything.
 */
export function missingSystemRight(right: string, more: Record<string, unknown> = {}, others: readonly string[] = []) {
  const rights = [...new Set([right, ...others, 'system.root'])]
  return new AppError('SystemRightRequired', { right, rights, ...more })
}

/** Code, realm and status of a refusal that are not in the catalogue: those of a plugin. */
export interface ForeignRefusal {
  readonly code: string
  readonly realm: string
  readonly status: number
}

/** A `ServerGeneric` with a message: for wrong input without a specific code. */
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
    code: error.foreign?.code ?? error.code,
    package: entry.package,
    realm: error.foreign?.realm ?? 'api',
    statuscode: error.status,
    error: error.message,
    message: error.message,
    parameters: error.parameters,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }
}

import { createHmac, timingSafeEqual } from 'node:crypto'

/** Seconds for which a form is valid: as long as a session of the console. */
export const formLifetime = 8 * 3600

/**
 * Tokens for the forms of a page, so that no other site can send them: derived from a secret that another site does not know, for
 * one action and some hours.
 */
export interface FormTokens {
  of(action: string): string
  fits(action: string, token: string | undefined): boolean
}

/** @param secret that of the session, or of this process where there are no sessions. */
export function formTokens(secret: string | Buffer, now: () => number = Date.now): FormTokens {
  const sign = (action: string, until: number): string =>
    createHmac('sha256', secret).update(`inspect form ${until} ${action}`).digest('base64url')
  return {
    of(action) {
      const until = Math.floor(now() / 1000) + formLifetime
      return `${until}.${sign(action, until)}`
    },
    fits(action, token) {
      const [, until = '', signature = ''] = /^(\d{1,12})\.([\w-]{43})$/.exec(token ?? '') ?? []
      if (until === '' || Number(until) * 1000 < now()) return false
      return timingSafeEqual(Buffer.from(signature), Buffer.from(sign(action, Number(until))))
    },
  }
}

import { SAML } from '@node-saml/node-saml'
import { assertHarmlessXml, messageLimits } from './harmless-xml.ts'
import { assertWithinPolicy } from './policies.ts'
import type { ResponseTask, SignedAnswer } from './reader.ts'

/** Maximum number of characters of a response as it is sent. */
const longestResponse = 256 * 1024

/** Reads a response and checks its signatures. @throws {Error} with the reason */
export async function readResponse({ response, options, key, allowed }: ResponseTask): Promise<SignedAnswer> {
  if (response.length > longestResponse) throw new Error('the response is too long')
  const xml = Buffer.from(response, 'base64').toString('utf8')
  assertHarmlessXml(xml, messageLimits)
  await assertWithinPolicy(xml, { key, allowed })
  const { profile } = await new SAML(options).validatePostResponseAsync({ SAMLResponse: response })
  const assertion = (profile?.getAssertion?.() as { Assertion?: object } | undefined)?.Assertion
  if (!profile || !assertion) throw new Error('there is no assertion')
  const { issuer, nameID, nameIDFormat, nameQualifier = '', spNameQualifier = '' } = profile
  return {
    issuer,
    nameID,
    nameIDFormat,
    nameQualifier,
    spNameQualifier,
    assertion: JSON.parse(JSON.stringify(assertion)),
  }
}

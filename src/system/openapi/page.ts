import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { html, joined } from '../../platform/values/html.ts'
import { Html } from '../../platform/values/trusted-html.ts'
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter, OpenApiResponse } from './model.ts'
import { schemaText } from './schema-text.ts'

const style = readFileSync(new URL('./page.client.css', import.meta.url), 'utf8')
const script = readFileSync(new URL('./page.client.js', import.meta.url), 'utf8')

/** The policy of the page: only its own script, which may only contact this service. */
export const pageSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
].join(';')

interface Operation extends OpenApiOperation {
  method: string
  path: string
}

/** The description of the interface as a page for people: one fold per operation, grouped by tag, with a form to try it. */
export function renderOpenApiPage(document: OpenApiDocument): string {
  const groups = Map.groupBy(operationsOf(document), (operation) => operation.tags[0] ?? 'other')
  const names = [...groups.keys()].sort()
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${document.info.title} interface</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>${new Html(style)}</style></head>
<body>
<header>
<h1>${document.info.title} interface <span class="muted">${document.info.version}</span></h1>
<p>${document.info.description} For programs: <a href="spec.json">OpenAPI ${document.openapi}</a>. A <b>!</b> marks what is required.</p>
${signIn}
<p><label>Filter <input type="search" id="filter" autocomplete="off" spellcheck="false" placeholder="words of an address, a name or a description"></label> <output id="found" class="muted" aria-live="polite"></output></p>
<nav aria-label="Groups">${names.map((name) => html`<a href="#group-${name}">${name}</a>`)}</nav>
</header>
<main>
${names.map((name) => html`<section><h2 id="group-${name}">${name}</h2>${(groups.get(name) ?? []).map(renderOperation)}</section>`)}
<h2 id="schemas">schemas</h2>
${Object.entries(document.components.schemas).map(
  ([name, schema]) =>
    html`<details id="schema-${name}"><summary><code>${name}</code> <span class="muted">${schema.description ?? ''}</span></summary><pre>${schemaText(schema)}</pre></details>`,
)}
</main>
<script>${new Html(script)}</script>
</body>
</html>`.toString()
}

const signIn = html`<form id="sign-in">
<label>Login <input name="login" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Sign in</button>
<label>or access token <input name="token" autocomplete="off" spellcheck="false"></label>
<output aria-live="polite">Requests are sent without a token.</output>
</form>`

function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

function renderOperation(operation: Operation): Html {
  const [body] = Object.entries(operation.requestBody?.content ?? {})
  const text = `${operation.description.replaceAll('**', '')} ${accessText(operation)}`
  return html`<details class="operation" id="${operation.operationId}" data-method="${operation.method}" data-path="${operation.path}" data-type="${body?.[0] ?? ''}">
<summary><span class="method ${operation.method}">${operation.method}</span> <code>${operation.path}</code> <span class="muted">${operation.summary}</span></summary>
<p>${prose(text)}</p>
<form class="try">
${(operation.parameters ?? []).map(renderParameter)}
${body ? renderBody(body[0], body[1]) : ''}
<p><button>Send</button> <button type="button" class="copy">Copy curl</button></p>
<pre class="curl" aria-label="The request as a curl line" tabindex="0"></pre>
<output class="answer" aria-live="polite"></output>
</form>
${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response))}
</details>
`
}

/** Text with words in back quotes, which are code. */
function prose(text: string): Html {
  return joined(text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`)))
}

function accessText({ security }: Operation): string {
  if (security.length === 0) return 'Needs no token.'
  return security.some((one) => Object.keys(one).length === 0) ? 'A token is optional.' : 'Needs a token.'
}

function renderParameter({ name, in: place, required, description, schema, example }: OpenApiParameter): Html {
  const values = schema.type === 'boolean' ? [true, false] : schema.enum
  const start = place === 'path' && example !== undefined ? String(example) : ''
  const field = values
    ? html`<select name="${name}" data-in="${place}"><option value=""></option>${values.map((value) => html`<option>${String(value)}</option>`)}</select>`
    : html`<input name="${name}" data-in="${place}" value="${start}" placeholder="${example === undefined ? schemaText(schema) : String(example)}" ${required ? 'required' : ''}>`
  return html`<label class="parameter"><span><code>${name}${required ? '!' : ''}</code> <span class="muted">${place}</span></span>${field}<span class="muted">${prose(description)}</span></label>`
}

function renderBody(type: string, { schema, example }: { schema?: object; example?: unknown }): Html {
  const text =
    example === undefined
      ? ''
      : type === 'application/json'
        ? JSON.stringify(example, null, 2)
        : new URLSearchParams(example as Record<string, string>).toString()
  return html`<label class="body"><span>Body, <code>${type}</code></span>
<textarea name="body" rows="${Math.min(18, text.split('\n').length + 1)}" spellcheck="false">${text}</textarea></label>
<details><summary>Shape of the body</summary><pre>${schemaText(schema)}</pre></details>`
}

function renderResponse(status: string, response: OpenApiResponse): Html {
  if (Number(status) >= 400) {
    return html`<p class="failure"><b>${status}</b> ${(response.description ?? '').split('\n\n').map((line) => html`<span>${prose(line)}</span> `)}</p>`
  }
  const content = Object.entries(response.content ?? {})
  return html`<details><summary>Answer ${status} <span class="muted">${response.description ?? ''}</span></summary>${content.map(
    ([type, { schema, example }]) =>
      html`<p><code>${type}</code></p><pre>${schemaText(schema)}</pre>${example === undefined ? '' : html`<p>Example</p><pre>${JSON.stringify(example, null, 2)}</pre>`}`,
  )}</details>`
}

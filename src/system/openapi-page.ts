import { html } from 'ghtml'
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from './openapi.ts'

const style = `
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1c2430 }
  h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #d5dae2 }
  nav a { margin-right: 1rem } a { color: #1f5fae }
  details { border: 1px solid #d5dae2; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem }
  summary { cursor: pointer } summary code { font-weight: 600 }
  .method { display: inline-block; min-width: 4.2rem; font-weight: 700 } .muted { color: #5b6675 }
  pre { background: #f5f7fa; padding: .7rem; overflow-x: auto; border-radius: 6px; font-size: 13px }
  table { border-collapse: collapse } td { padding: .15rem .9rem .15rem 0; vertical-align: top }
  @media (prefers-color-scheme: dark) {
    body { background: #14181f; color: #dde3ec } pre { background: #1d232d } a { color: #7db4f5 }
    details, h2 { border-color: #333c49 } .muted { color: #9aa6b6 }
  }
`

interface Operation extends OpenApiOperation {
  method: string
  path: string
}

/** The description of the interface as a page for people: one fold per operation, grouped by tag; needs no script. */
export function renderOpenApiPage(document: OpenApiDocument): string {
  const groups = Map.groupBy(operationsOf(document), (operation) => operation.tags?.[0] ?? 'other')
  const names = [...groups.keys()].sort()
  const schemas = document.components?.schemas ?? {}
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${document.info.title} interface</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head>
<body>
<h1>${document.info.title} interface <span class="muted">${document.info.version}</span></h1>
<p>${document.info.description ?? ''}</p>
<p>For programs: <a href="spec.json">OpenAPI ${document.openapi}</a>. A <b>!</b> marks what is required.</p>
<nav>!${names.map((name) => html`<a href="#${name}">${name}</a>`)}</nav>
!${names.map((name) => html`<h2 id="${name}">${name}</h2>!${(groups.get(name) ?? []).map((one) => renderOperation(one, schemas))}`)}
</body>
</html>`
}

function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

function renderOperation(operation: Operation, schemas: Record<string, JsonSchema>): string {
  const body = Object.entries(operation.requestBody?.content ?? {})
  return html`<details>
<summary><span class="method">${operation.method}</span> <code>${operation.path}</code> <span class="muted">${operation.summary ?? ''}</span></summary>
<p>${operation.description ?? ''} <span class="muted">${accessText(operation)}</span></p>
!${renderParameters(operation)}
!${body.map(([type, { schema }]) => html`<p>Body, <code>${type}</code></p><pre>${schemaText(schema, schemas)}</pre>`)}
!${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response, schemas))}
</details>
`
}

function accessText(operation: Operation): string {
  const security = operation.security ?? []
  if (security.length === 0) return 'Needs no token.'
  return security.some((one) => Object.keys(one).length === 0) ? 'A token is optional.' : 'Needs a token.'
}

function renderParameters({ parameters = [] }: Operation): string {
  if (parameters.length === 0) return ''
  return html`<table>!${parameters.map(
    (parameter) => html`<tr><td><code>${parameter.name}${parameter.required ? '!' : ''}</code></td>
<td class="muted">${parameter.in}</td><td>${schemaText(parameter.schema, {})}</td><td>${parameter.description ?? ''}</td></tr>`,
  )}</table>`
}

function renderResponse(
  status: string,
  response: OpenApiOperation['responses'][string],
  schemas: Record<string, JsonSchema>,
): string {
  const content = Object.entries(response.content ?? {})
  return html`<p>Answer ${status}</p>!${content.map(([, { schema }]) => html`<pre>${schemaText(schema, schemas)}</pre>`)}`
}

const deepest = 8

/** A JSON schema as short text: `{ name!: string, rows: array of { … } }`, one member per line. */
export function schemaText(schema: JsonSchema | undefined, schemas: Record<string, JsonSchema>, indent = ''): string {
  if (!schema) return 'any'
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    const target = schemas[name]
    return target && indent.length < 2 * deepest ? schemaText(target, schemas, indent) : name
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (alternatives) {
    const joint = schema.allOf ? ' & ' : ' | '
    return [...new Set(alternatives.map((one) => schemaText(one, schemas, indent)))].join(joint)
  }
  if (schema.items) return `array of ${schemaText(schema.items, schemas, indent)}`
  if (schema.properties) return objectText(schema, schemas, indent)
  const values = schema.patternProperties ? Object.values(schema.patternProperties)[0] : schema.additionalProperties
  if (typeof values === 'object') return `map of ${schemaText(values, schemas, indent)}`
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'any')
  return schema.format ? `${type} (${schema.format})` : type
}

function objectText(schema: JsonSchema, schemas: Record<string, JsonSchema>, indent: string): string {
  if (indent.length >= 2 * deepest) return 'object'
  const inner = `${indent}  `
  const lines = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const comment = member.description ? `  — ${member.description}` : ''
    return `${inner}${name}${schema.required?.includes(name) ? '!' : ''}: ${schemaText(member, schemas, inner)}${comment}`
  })
  return lines.length === 0 ? 'object' : `{\n${lines.join('\n')}\n${indent}}`
}

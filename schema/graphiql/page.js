// GraphiQL on the server that gave this page. Headers of the editor go with requests, and into the
// `connection_init` of sockets.
"use strict";

const here = document.currentScript.src;

const daysAgo = (days) => new Date(Date.now() - days * 86_400_000).toISOString();

const variables = {
  HealthThen: { asOf: daysAgo(3) },
  Changes: { from: daysAgo(7) },
};

// One tab for each operation of the file; a blank line stands before each of their comments.
const tabs = (text) =>
  text.trim().split(/\n\n(?=# )/).map((query) => {
    const [, name] = query.match(/^(?:query|subscription) (\w+)/m);
    const given = variables[name];
    return { query: `${query}\n`, variables: given && JSON.stringify(given, null, 2) };
  });

// A link may hold a token behind its `#token=`, where no server sees it. It is kept for this tab of
// the browser, out of the address.
const token = () => {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("retrograph:token", given);
    history.replaceState(null, "", location.pathname);
  }
  return given ?? sessionStorage.getItem("retrograph:token");
};

const address = (protocol) => {
  const url = new URL("graphql", document.baseURI);
  url.protocol = protocol ?? url.protocol;
  return url.href;
};

const start = async () => {
  const proof = token();
  const defaultHeaders = proof ? JSON.stringify({ Authorization: `Bearer ${proof}` }) : undefined;
  const examples = await fetch(new URL("tabs.graphql", here));
  const fetcher = GraphiQL.createFetcher({
    url: address(),
    subscriptionUrl: address(location.protocol === "https:" ? "wss:" : "ws:"),
    enableIncrementalDelivery: false,
  });
  const defaultTabs = tabs(await examples.text());
  const editor = React.createElement(GraphiQL, {
    fetcher,
    defaultTabs,
    defaultHeaders,
    shouldPersistHeaders: false,
  });
  ReactDOM.createRoot(document.getElementById("graphiql")).render(editor);
};

start();
